"""From what is known to a plan of where groups go on: values in, values out."""
