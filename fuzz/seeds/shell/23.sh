
kill -0 $$; echo $?; trap "echo t" USR1; kill -USR1 $$; echo end
