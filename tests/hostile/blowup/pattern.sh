case aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa in *a*a*a*a*a*a*a*a*a*a*a*b) ;; esac
echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | grep -E '(a+)+(a+)+(a+)+$b'
