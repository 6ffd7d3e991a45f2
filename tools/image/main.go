// Command image packs static binaries, CA certificates and licenses into a container
// image without a base, for one platform or several.
//
// What it promises: the binary is the entry point and runs as a user without
// rights; nothing else is in the image; the same input makes the same files, byte
// for byte; a file that is not a static binary for Linux is an error, and so is a module
// whose license is not on the list of notices.go.
//
// It writes the index of all platforms as an OCI image layout, with the SBOM of each
// binary as a referrer, and the image of one platform as an archive that docker load,
// podman load and ctr images import take.
//
// SOURCE_DATE_EPOCH, when set, is the time that the image and its files bear, in
// seconds since 1970.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
)

// commandName is what the binary is called in the image, and the image itself.
const commandName = "multicloud-controller-manager"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tools/image:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	binaries                     paths
	bundle, module, output, root string
	values                       string
	repository, tag, commit      string
}

// paths is a flag that can be repeated.
type paths []string

func (p *paths) String() string { return fmt.Sprint(*p) }

func (p *paths) Set(path string) error {
	*p = append(*p, path)

	return nil
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.Var(&o.binaries, "binary", "path of a static binary; once for each platform")
	flags.StringVar(&o.output, "output", "", "folder to write to")
	flags.StringVar(&o.root, "root", "", "folder to write the files of each image to, for the Dockerfile (default: none)")
	flags.StringVar(&o.values, "values", "", "file to write the values of the chart for the image to (default: none)")
	flags.StringVar(&o.module, "module", "", "folder of the module of the binary, with LICENSE and go.mod")
	flags.StringVar(&o.tag, "version", "", "version of the binary, which becomes the tag of the image")
	flags.StringVar(&o.commit, "revision", "", "commit that the binary was built from, if known")
	flags.StringVar(&o.repository, "repository", "localhost/"+commandName, "name of the image without its tag")
	flags.StringVar(&o.bundle, "ca-certificates", "", "path of CA certificates in PEM form (default: those that Mozilla trusts)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if len(o.binaries) == 0 || o.output == "" || o.tag == "" || o.module == "" || flags.NArg() > 0 {
		return errors.New("-binary, -module, -version and -output are needed, and nothing but flags")
	}

	return pack(ctx, o)
}
