"""Comments and literals of C++ as parts of regular expressions.

An unterminated comment or literal extends to the end of the text: such a source does not compile, and
searching for the end again at each opening would take quadratic time. For verbose patterns in which `.`
matches line ends (re.X, re.S).
"""

COMMENT = r"(?://(?:[^\\\n]|\\.)* | /\*(?:.*?\*/|.*))"
RAW_STRING = r'(?<!\w)(?:u8|[uUL])?R"(?P<raw>[^()\\\s"]{0,16})\((?:.*?\)(?P=raw)"|.*)'
STRING = r'"(?:[^"\\\n]|\\.)*"'
CHARACTER = r"'(?:[^'\\\n]|\\.)*'"

# Raw strings come before plain ones. One group, `raw`.
HIDDEN = rf"(?:{COMMENT} | {RAW_STRING} | {STRING} | {CHARACTER})"
