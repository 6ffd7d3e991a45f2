package aws

func (c *Cloud) ec2Operations() map[string]operation {
	return map[string]operation{}
}
