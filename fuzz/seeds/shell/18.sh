
f() { set -- x y; echo $#; }; set -- 1; f; echo $#
