package awstype

import "github.com/aws/aws-sdk-go-v2/service/ec2/types"

// Filter returns a filter of EC2, which matches any of the values.
func Filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}
