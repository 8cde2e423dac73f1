import select
while True:
    select.select([0], [1], [], 10)
