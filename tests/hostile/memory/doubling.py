text = 'x'
while True:
    text += text
