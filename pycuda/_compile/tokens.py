"""What hides text in C++: comments and literals, as parts of regular expressions.

An opening without its end hides the rest: such a source does not compile, and to look for the end once more
at each opening would take quadratic time. For verbose patterns in which `.` takes line ends (re.X, re.S).
"""

COMMENT = r"(?://(?:[^\\\n]|\\.)* | /\*(?:.*?\*/|.*))"
RAW_STRING = r'(?<!\w)(?:u8|[uUL])?R"(?P<raw>[^()\\\s"]{0,16})\((?:.*?\)(?P=raw)"|.*)'
STRING = r'"(?:[^"\\\n]|\\.)*"'
CHARACTER = r"'(?:[^'\\\n]|\\.)*'"

# Raw strings come before plain ones. One group, `raw`.
HIDDEN = rf"(?:{COMMENT} | {RAW_STRING} | {STRING} | {CHARACTER})"
