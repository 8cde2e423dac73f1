until false; do x=$(echo x); done
