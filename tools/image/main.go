// Command image packs a static binary and the CA certificates of the machine it
// runs on into a container image without a base, as a file that docker load,
// podman load and ctr images import take.
//
// What it promises: the binary is the entry point and runs as a user without
// rights; nothing else is in the image; the same input makes the same file, byte
// for byte; a file that is not a static binary for Linux is an error.
//
// SOURCE_DATE_EPOCH, when set, is the time that the image and its files bear, in
// seconds since 1970.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// commandName is what the binary is called in the image, and the image itself.
const commandName = "multicloud-controller-manager"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tools/image:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	binary, bundle, output  string
	repository, tag, commit string
}

func run(args []string) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "", "path of the static binary")
	flags.StringVar(&o.output, "output", "", "path of the image to write")
	flags.StringVar(&o.tag, "version", "", "version of the binary, which becomes the tag of the image")
	flags.StringVar(&o.commit, "revision", "", "commit that the binary was built from, if known")
	flags.StringVar(&o.repository, "repository", "localhost/"+commandName, "name of the image without its tag")
	flags.StringVar(&o.bundle, "ca-certificates", "", "path of CA certificates in PEM form (default: those of this machine)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.binary == "" || o.output == "" || o.tag == "" || flags.NArg() > 0 {
		return errors.New("-binary, -version and -output are needed, and nothing but flags")
	}

	return pack(o)
}

// pack makes the image of the options and prints what it is.
func pack(o options) error {
	reference, err := name.NewTag(o.repository + ":" + o.tag)
	if err != nil {
		return fmt.Errorf("name the image: %w", err)
	}
	made, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	binary, err := readBinary(o.binary)
	if err != nil {
		return err
	}
	certificates, err := readCertificates(o.bundle)
	if err != nil {
		return err
	}
	image, err := newImage(content{
		binary: binary, certificates: certificates.pem,
		version: o.tag, revision: o.commit, made: made,
	})
	if err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	if err := write(o.output, reference, image); err != nil {
		return err
	}
	fmt.Printf("%s: %s, %s/%s, binary of %.1f MB, %d CA certificates of %s\n", o.output, reference,
		targetOS, binary.architecture, float64(len(binary.data))/megabyte, certificates.count, certificates.path)

	return nil
}

// sourceDate reads the time that everything in the image bears.
func sourceDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}

	return time.Unix(seconds, 0).UTC(), nil
}

// write puts the image into place when it is whole.
func write(path string, reference name.Tag, image v1.Image) error {
	partial, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".partial.*")
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	err = errors.Join(tarball.Write(reference, image, partial), partial.Chmod(0o644), partial.Close())
	if err == nil {
		err = os.Rename(partial.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write image: %w", errors.Join(err, os.Remove(partial.Name())))
	}

	return nil
}
