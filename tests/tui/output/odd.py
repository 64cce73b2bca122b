"""Text with a line break, escapes, markup, and letters beyond ASCII, as anyone may send one."""

ODD = "a\r\nb\x1b[2J\u202e[red]\u2028 é|"
