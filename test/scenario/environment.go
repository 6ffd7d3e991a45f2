package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// Environment is a control plane, a simulated cloud, and the processes between
// them. It belongs to one goroutine. Whatever was started is ended by Close.
type Environment struct {
	ControlPlane *controlplane.ControlPlane
	Cloud        Cloud

	dir    string
	config string
	ccms   []*ccm.CCM
}

// NewEnvironment makes an empty environment with a directory for logs and
// configuration.
func NewEnvironment() (*Environment, error) {
	dir, err := os.MkdirTemp("", "multicloud-ccm-")
	if err != nil {
		return nil, fmt.Errorf("create the environment: %w", err)
	}

	return &Environment{dir: dir, config: filepath.Join(dir, "cloud.conf")}, nil
}

// Dir is where logs go.
func (s *Environment) Dir() string { return s.dir }

// ConfigPath is the cloud-config of the cloud that was started.
func (s *Environment) ConfigPath() string { return s.config }

// StartControlPlane starts etcd and kube-apiserver.
func (s *Environment) StartControlPlane(ctx context.Context) error {
	var err error
	s.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{Dir: filepath.Join(s.dir, "controlplane")})

	return err
}

// StartCloud starts a cloud and writes its cloud-config.
func (s *Environment) StartCloud(start func() (Cloud, error)) error {
	var err error
	if s.Cloud, err = start(); err != nil {
		return err
	}
	if err := os.WriteFile(s.config, []byte(s.Cloud.Config()), 0o600); err != nil {
		return fmt.Errorf("write cloud-config: %w", err)
	}

	return nil
}

// Register registers machines of the cloud as nodes.
func (s *Environment) Register(ctx context.Context, machines []Machine) error {
	specs := make([]controlplane.NodeSpec, len(machines))
	for i, m := range machines {
		specs[i] = m.Node
	}

	return controlplane.RegisterNodes(ctx, s.ControlPlane.Client(), specs)
}

// Run starts the binary for the cloud and returns at once.
func (s *Environment) Run(name, binary string, args ...string) (*ccm.CCM, error) {
	process, err := ccm.Start(ccm.Options{
		Binary: binary, Dir: s.dir, Name: name, Args: args, Env: s.Cloud.Environment(),
		Kubeconfig: s.ControlPlane.Kubeconfig(), CloudConfig: s.config,
	})
	if err != nil {
		return nil, err
	}
	s.ccms = append(s.ccms, process)

	return process, nil
}

// Stop ends a process of Run.
func (s *Environment) Stop(ctx context.Context, process *ccm.CCM) error {
	s.ccms = slices.DeleteFunc(s.ccms, func(c *ccm.CCM) bool { return c == process })

	return process.Stop(ctx)
}

// Close ends everything, the latest first, also when the context has ended, and
// removes the directory unless keepLogs requests what is in there.
func (s *Environment) Close(ctx context.Context, keepLogs bool) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, process := range slices.Backward(slices.Clone(s.ccms)) {
		errs = append(errs, s.Stop(ctx, process))
	}
	if s.Cloud != nil {
		errs = append(errs, s.Cloud.Close())
	}
	if s.ControlPlane != nil {
		errs = append(errs, s.ControlPlane.Stop(ctx))
	}
	if !keepLogs {
		errs = append(errs, os.RemoveAll(s.dir))
	}

	return errors.Join(errs...)
}
