package client_test

import (
	"reflect"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestEC2IsNarrow keeps the binary small: nothing that can be reached from the
// interface EC2 has more methods than are in use.
func TestEC2IsNarrow(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	keys(t, cloud)
	_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: quick()})
	narrow := reflect.TypeOf(clients.EC2)
	if got, want := narrow.NumMethod(), reflect.TypeFor[client.EC2]().NumMethod(); got != want {
		t.Errorf("it has %d methods, %d are in use", got, want)
	}
	for field := range narrow.Elem().Fields() {
		if field.Type.Kind() != reflect.Func {
			t.Errorf("%s is a %s, which refers to its methods: the linker keeps them all", field.Name, field.Type)
		}
	}
}
