import re
re.search(r'(.*)(.*)(.*)\1\2\3x', 'ab' * 3000)
