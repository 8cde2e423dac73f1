x='sh -c "$x"; sh -c "$x" &'
export x
sh -c "$x"
