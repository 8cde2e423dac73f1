import re
re.match(r'(a|a|aa|aaa)*$', 'a' * 100 + 'b')
