package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
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

	return program{data: data, architecture: architecture}, nil
}
