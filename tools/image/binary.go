package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
)

const (
	targetOS = "linux"
	megabyte = 1e6
	// maxBinary is the budget of the project for its binary.
	maxBinary = 110 * megabyte
)

// architectures are the machines that images are made for.
var architectures = map[elf.Machine]string{
	elf.EM_X86_64:  "amd64",
	elf.EM_AARCH64: "arm64",
}

// program is an executable that needs nothing but the kernel.
type program struct {
	data         []byte
	architecture string
	// info has the versions of Go and of all modules in it.
	info *debug.BuildInfo
}

// unknownVersion is what Go calls the version of a main module that it did not stamp.
const unknownVersion = "(devel)"

// readBinaries reads the executables of one version, each for another architecture, and
// returns them in the order of their architectures. Their main module has no version, or
// that one.
func readBinaries(paths []string, version string) ([]program, error) {
	var all []program
	for _, path := range paths {
		binary, err := readBinary(path)
		if err != nil {
			return nil, err
		}
		if stamped := binary.info.Main.Version; stamped != unknownVersion && stamped != version {
			return nil, fmt.Errorf("read binary: %s is %s, not %s", path, stamped, version)
		}
		for _, other := range all {
			if other.architecture == binary.architecture {
				return nil, fmt.Errorf("read binary: %s is for %s, and so is another one", path, binary.architecture)
			}
			if other.info.Main.Version != binary.info.Main.Version || other.info.GoVersion != binary.info.GoVersion {
				return nil, fmt.Errorf("read binary: %s is %s built with %s, another one %s built with %s", path,
					binary.info.Main.Version, binary.info.GoVersion, other.info.Main.Version, other.info.GoVersion)
			}
		}
		all = append(all, binary)
	}
	slices.SortFunc(all, func(a, b program) int { return bytes.Compare([]byte(a.architecture), []byte(b.architecture)) })

	return all, nil
}

// readBinary reads an executable and rejects one that would not run in an image
// without a base, or is over its budget.
func readBinary(path string) (program, error) {
	info, err := os.Stat(path)
	if err != nil {
		return program{}, fmt.Errorf("read binary: %w", err)
	}
	if info.Size() > maxBinary {
		return program{}, fmt.Errorf("read binary: %s has %.1f MB, its budget is %.0f MB", path, float64(info.Size())/megabyte, maxBinary/megabyte)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return program{}, fmt.Errorf("read binary: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return program{}, fmt.Errorf("read binary: %s is not a Linux binary: %w", path, err)
	}
	architecture, ok := architectures[file.Machine]
	if !ok {
		return program{}, fmt.Errorf("read binary: %s is for %v, which no image is made for", path, file.Machine)
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return program{}, fmt.Errorf("read binary: %s is not static: build it with CGO_ENABLED=0", path)
	}
	build, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return program{}, fmt.Errorf("read binary: %s has no versions of its modules: %w", path, err)
	}

	return program{data: data, architecture: architecture, info: build}, nil
}

// modules returns the modules that a program contains, as they were built: a replaced one
// is the one that replaces it.
func (p program) modules() []*debug.Module {
	modules := make([]*debug.Module, 0, len(p.info.Deps))
	for _, m := range p.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, m)
	}

	return modules
}
