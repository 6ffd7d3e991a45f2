package aws_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func Example() {
	cloud, err := aws.Start(aws.Options{})
	if err != nil {
		panic(err)
	}
	defer cloud.Close()
	seed := cloud.Seed("demo")
	id := seed.AddNode(aws.InstanceSpec{ID: "i-0abc"})
	cloud.Interceptor().Inject("CreateTags", simserver.Nth(1), aws.Throttled())

	config := cloud.Config()
	config.RetryMaxAttempts = 1
	defer config.HTTPClient.(*http.Client).CloseIdleConnections()
	client := ec2.NewFromConfig(config)
	ctx := context.Background()
	for range 2 {
		_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{
			Resources: []string{id}, Tags: []types.Tag{{Key: new("team"), Value: new("blue")}},
		})
		fmt.Println("tagged:", err == nil)
	}
	cloud.Terminate(id)
	out, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		panic(err)
	}
	fmt.Println(out.Reservations[0].Instances[0].State.Name)
	fmt.Println(cloud.Interceptor().Total(), "calls, writes:", cloud.Writes())
	fmt.Println("left behind:", cloud.Leaks())
	// Output:
	// tagged: false
	// tagged: true
	// terminated
	// 3 calls, writes: map[CreateTags:2]
	// left behind: [tag i-0abc team=blue]
}
