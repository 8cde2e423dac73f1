
cat & wait; echo end
