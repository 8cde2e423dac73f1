sleep 99999
