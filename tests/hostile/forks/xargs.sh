yes sh | xargs -n 1 -P 999 sh -c 'sh -c true'
