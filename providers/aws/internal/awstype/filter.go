package awstype

import "github.com/aws/aws-sdk-go-v2/service/ec2/types"

// Filter returns a filter of EC2: one of the values is enough.
func Filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}
