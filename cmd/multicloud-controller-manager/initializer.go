package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	cloudprovider "k8s.io/cloud-provider"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/options"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// starter chooses the provider before anything starts, and creates it when the
// framework requests it.
type starter struct {
	options   *options.CloudControllerManagerOptions
	providers []provider.Descriptor
	life      *lifetime
	leading   leading

	// Set by choose.
	flag     config.Flag
	chosen   choice
	noRoutes bool
}

// choose runs once the flags are parsed and before anything is bound or called.
// An error in the command line or the cloud-config ends the process here, with
// exit code 1.
func (s *starter) choose(cmd *cobra.Command, _ []string) error {
	exitIfVersionRequested(cmd.OutOrStdout(), cmd.Flags())
	cloud := s.options.KubeCloudShared.CloudProvider
	s.flag = config.Flag{Value: cloud.Name, Set: cmd.Flags().Changed("cloud-provider")}

	chosen, err := choose(s.providers, cloud.CloudConfigFile, s.flag, config.WithFiles)
	if err != nil {
		return err
	}
	s.chosen = chosen
	applyControllers(s.options, chosen.settings.Controllers, cmd.Flags().Changed, func(key string) bool {
		return chosen.file != nil && chosen.file.Has(config.Name{Section: "Controllers", Key: key})
	})
	s.noRoutes = routesOff(s.options, cmd.Flags())
	if err := errors.Join(checkConcurrency(s.options), checkLeaderElection(s.options.Generic.LeaderElection)); err != nil {
		return err
	}

	return cmd.Flags().Set("cloud-provider", chosen.provider.Name)
}

// initCloud makes the chosen provider from the global factory map. Logging is
// configured by now, so it logs the problems that choose found. The framework
// accepts no error: a failure ends the process with exit code 1.
func (s *starter) initCloud(completed *ccmconfig.CompletedConfig) cloudprovider.Interface {
	s.report()
	trimInformers(completed)
	shared := completed.ComponentConfig.KubeCloudShared
	cloud, err := s.makeCloud(shared.CloudProvider.Name)
	if err == nil {
		s.life.track(cloud)
		if syncer, ok := cloud.(provider.ServiceSyncer); ok {
			syncer.SetServiceWorkers(int(completed.ComponentConfig.ServiceController.ConcurrentServiceSyncs))
		}
		if named, ok := cloud.(provider.ClusterNamer); ok {
			named.SetClusterName(shared.ClusterName)
		}
		err = errors.Join(checkClusterID(cloud, shared.AllowUntaggedCloud), checkClusterCIDR(cloud, completed.ComponentConfig), serveDecisions(cloud))
	}
	if err == nil {
		err = s.life.prepareHandover(completed)
	}
	if err != nil {
		klog.ErrorS(err, "Cloud provider did not start", "provider", shared.CloudProvider.Name, "cloudConfig", shared.CloudProvider.CloudConfigFile)
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	klog.InfoS("Cloud provider chosen", "provider", shared.CloudProvider.Name, "cloudConfig", shared.CloudProvider.CloudConfigFile)
	recorder := metrics.New(shared.CloudProvider.Name)
	recorder.ConfigFile(metrics.ConfigOK) // there may be no file to watch
	switch file := s.chosen.file; {
	case file == nil:
	case file.ReadOnce():
		klog.InfoS("Cloud-config is not a regular file: it is not watched", "cloudConfig", file.Path)
	default:
		s.life.watch(s.newWatcher(completed, cloud, recorder).run)
	}

	return cloud
}

// newWatcher watches the cloud-config that is in use.
func (s *starter) newWatcher(completed *ccmconfig.CompletedConfig, cloud cloudprovider.Interface, recorder *metrics.Recorder) *watcher {
	rotator, _ := cloud.(provider.Rotator)

	return &watcher{
		life: s.life, recorder: recorder, inUse: s.chosen,
		choose: func(path string) (choice, error) { return choose(s.providers, path, s.flag, config.WithFiles) },
		leads:  s.leading.Load,
		prove: func(ctx context.Context, changed choice) (provider.Proof, error) {
			return prove(ctx, changed, completed.ClientBuilder)
		},
		warn: podWarner(completed.EventRecorder), rotator: rotator,
	}
}

// makeCloud calls the factory with the content that was checked.
func (s *starter) makeCloud(name string) (cloudprovider.Interface, error) {
	var content io.Reader
	path := "--cloud-provider"
	if file := s.chosen.file; file != nil {
		content, path = file.Reader(), file.Path
	}
	cloud, err := cloudprovider.GetCloudProvider(name, content)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: start provider %s: %w", path, name, err)
	case cloud == nil:
		return nil, fmt.Errorf("%s: unknown provider %q", path, name)
	}

	return cloud, nil
}

// report logs the problems that choose found before logging was configured.
func (s *starter) report() {
	for _, problem := range s.chosen.problems {
		if problem.Severity == config.Note {
			klog.InfoS("Cloud-config note", "at", problem.Position.String(), "note", problem.Message)

			continue
		}
		klog.InfoS("Cloud-config warning", "at", problem.Position.String(), "warning", problem.Message)
	}
	if s.noRoutes {
		klog.InfoS("Routes are off, whatever the cloud-config has: there is no --cluster-cidr, and --configure-cloud-routes was not given")
	}
}

// checkClusterID keeps a provider that needs a cluster ID from working on
// resources of other clusters.
func checkClusterID(cloud cloudprovider.Interface, allowed bool) error {
	if cloud.HasClusterID() {
		return nil
	}
	if !allowed {
		return errors.New("no cluster ID found: tag the instances with one, or give --allow-untagged-cloud")
	}
	klog.InfoS("Running without a cluster ID: resources of several clusters cannot be told apart", "flag", "--allow-untagged-cloud")

	return nil
}

// choice is a provider with the cloud-config it was chosen by.
type choice struct {
	provider provider.Descriptor
	settings *config.Settings
	// file is nil where there is no cloud-config.
	file     *config.File
	problems config.Problems
}

// choose reads the cloud-config once, picks the provider and checks the whole
// file, and those that it names if scope has them. The error joins all problems of severity error.
func choose(providers []provider.Descriptor, path string, flag config.Flag, scope config.Scope) (choice, error) {
	var file *config.File
	var parseErr error
	if path != "" {
		file, parseErr = config.Read(path)
		if errors.Is(parseErr, os.ErrNotExist) || errors.Is(parseErr, os.ErrPermission) {
			return choice{}, parseErr
		}
	}
	name, err := config.Select(file, parseErr, flag, providerNames(providers))
	if err != nil {
		return choice{}, err
	}
	if parseErr != nil {
		return choice{}, parseErr
	}
	chosen := choice{file: file, settings: config.NewSettings()}
	chosen.provider = providers[slices.IndexFunc(providers, func(d provider.Descriptor) bool { return d.Name == name })]
	if syncs := chosen.provider.ServiceSyncs; syncs > 0 {
		chosen.settings.Controllers.ConcurrentServiceSyncs = &syncs
	}
	chosen.problems = chosen.provider.Decode(file, scope)
	if file != nil {
		file.Decode(config.Schema{}, chosen.settings)
	}

	return chosen, chosen.problems.Err()
}

func providerNames(providers []provider.Descriptor) []string {
	names := make([]string, len(providers))
	for i, p := range providers {
		names[i] = p.Name
	}

	return names
}
