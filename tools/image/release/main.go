// Command release collects the files of a release in one folder: binaries, the image, the
// Helm chart as a package and as an OCI image layout, manifests of each provider for those
// without Helm, the IAM policy of AWS, a list of everything by digest, and checksums.
//
// What it promises: the same input makes the same files, byte for byte, and SHA256SUMS has
// all of them. It signs nothing.
//
// SOURCE_DATE_EPOCH, when set, is the time that the files in the chart bear, in seconds since
// 1970.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/dist"
)

// commandName is what the binary and the chart are called.
const commandName = "multicloud-controller-manager"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tools/image/release:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	binaries, image, chart, policy, changelog string
	helm, version, providers                  string
	output                                    string
	made                                      time.Time
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&o.binaries, "binaries", "", "folder with a folder for each platform, such as linux-amd64, with its binary")
	flags.StringVar(&o.image, "image", "", "folder with the files of make image")
	flags.StringVar(&o.chart, "chart", "", "folder of the chart")
	flags.StringVar(&o.changelog, "changelog", "", "changelog with a section for the version")
	flags.StringVar(&o.policy, "policy", "", "page with the IAM policy of AWS")
	flags.StringVar(&o.helm, "helm", "", "path of Helm")
	flags.StringVar(&o.version, "version", "", "version of the release, which is the tag of the image")
	flags.StringVar(&o.providers, "providers", "", "names of the providers to write manifests for, with commas between them")
	flags.StringVar(&o.output, "output", "", "folder to write to, which must not exist")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, value := range []string{o.binaries, o.image, o.chart, o.changelog, o.policy, o.helm, o.version, o.providers, o.output} {
		if value == "" || flags.NArg() > 0 {
			return errors.New("all flags are needed, and nothing but flags")
		}
	}
	var err error
	if o.made, err = dist.SourceDate(os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}

	return collect(ctx, o)
}

// collect writes all files.
func collect(ctx context.Context, o options) error {
	if err := os.Mkdir(o.output, 0o755); err != nil {
		return fmt.Errorf("make the folder of the release: %w", err)
	}
	if err := copyBinaries(o.binaries, o.output); err != nil {
		return err
	}
	if err := copyFiles(o.image, o.output); err != nil {
		return err
	}
	packed, err := packageChart(ctx, o)
	if err != nil {
		return err
	}
	if err := writeChart(o, packed); err != nil {
		return err
	}
	for provider := range strings.SplitSeq(o.providers, ",") {
		if err := writeManifests(ctx, o, packed, provider); err != nil {
			return err
		}
	}
	if err := writePolicy(o.policy, o.output); err != nil {
		return err
	}

	return writeSums(o.output)
}
