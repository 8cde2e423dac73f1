echo "
$( (
 ` ${ $(( ;; & | < > esac done fi }
