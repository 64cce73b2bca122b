"""Views: functions from a value to a table for people, and to plain values for JSON and YAML.

They ask no server, and print nothing.
"""
