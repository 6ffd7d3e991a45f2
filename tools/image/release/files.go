package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/dist"
)

const (
	listFile   = "images.txt"
	policyFile = "aws-iam-policy.json"
	sumsFile   = "SHA256SUMS"
)

// copyBinaries copies the binary of each platform under a name with the platform.
func copyBinaries(from, to string) error {
	const platforms = "linux-*"
	found, err := filepath.Glob(filepath.Join(from, platforms, commandName))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("find binaries: %s has no %s: %w", from, filepath.Join(platforms, commandName), errors.Join(err, os.ErrNotExist))
	}
	for _, path := range found {
		name := commandName + "-" + filepath.Base(filepath.Dir(path))
		if err := copyFile(path, to, name); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(to, name), 0o755); err != nil {
			return fmt.Errorf("copy binary: %w", err)
		}
	}

	return nil
}

// copyFiles copies all files of a folder.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("find the image: %w", err)
	}
	for _, entry := range entries {
		if err := copyFile(filepath.Join(from, entry.Name()), to, entry.Name()); err != nil {
			return err
		}
	}

	return nil
}

func copyFile(path, to, name string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}

	return dist.Write(to, name, dist.Bytes(data))
}

// writePolicy writes the IAM policy that is on a page.
func writePolicy(page, to string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read IAM policy: %w", err)
	}
	policy, err := policyOf(string(text))
	if err != nil {
		return fmt.Errorf("read IAM policy of %s: %w", page, err)
	}

	return dist.Write(to, policyFile, dist.Bytes([]byte(policy)))
}

// policyOf returns the only block of JSON of a page, which must be a policy.
func policyOf(page string) (string, error) {
	const begin, end = "\n```json\n", "\n```\n"
	if count := strings.Count(page, begin); count != 1 {
		return "", fmt.Errorf("want one block of JSON, got %d", count)
	}
	_, rest, _ := strings.Cut(page, begin)
	text, _, ok := strings.Cut(rest, end)
	if !ok {
		return "", errors.New("the block of JSON has no end")
	}
	var policy struct {
		Version   string
		Statement []struct{ Effect string }
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return "", err
	}
	if policy.Version == "" || len(policy.Statement) == 0 {
		return "", errors.New("the block of JSON is not a policy")
	}

	return text + "\n", nil
}

// writeSums writes the checksums of all files of a folder, for sha256sum --check.
func writeSums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("make checksums: %w", err)
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return fmt.Errorf("make checksums: %w", err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), entry.Name())
	}

	return dist.Write(folder, sumsFile, dist.Bytes(sums.Bytes()))
}
