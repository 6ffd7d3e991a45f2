package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Flag is the --cloud-provider flag as given on the command line.
type Flag struct {
	Value string
	// Set reports whether the flag was given.
	Set bool
}

// unsupportedNames are names that users of upstream controllers may bring, with
// the advice for them.
var unsupportedNames = map[string]string{
	"external":            "it tells other components that a cloud controller manager runs, and is no provider",
	"vsphere-paravirtual": "only the vsphere provider is supported, paravirtual mode is not",
}

// Select chooses the provider of a process:
//
//	[Global] provider   --cloud-provider   result
//	set                 not set            the key
//	not set             set                the flag
//	set                 set, the same      that name
//	set                 set, different     error naming both
//	not set             not set            error listing the names
//	file unreadable     set                the flag: the provider reports the file
//	file unreadable     not set            the cause
//
// Names are case-sensitive and must be registered. file is nil where the
// process has no cloud-config; parseErr is why there is none in spite of a path.
func Select(file *File, parseErr error, flag Flag, registered []string) (string, error) {
	known := strings.Join(slices.Sorted(slices.Values(registered)), ", ")
	fromFlag := ""
	if flag.Set {
		fromFlag = flag.Value
	}
	fromFile, origin := "", "--cloud-provider"
	switch {
	case parseErr != nil && fromFlag == "":
		return "", parseErr
	case file != nil:
		name, err := file.Provider()
		if err != nil {
			return "", fmt.Errorf("%w: set it to one of: %s", err, known)
		}
		fromFile = name
	}
	name := fromFlag
	if fromFile != "" {
		key := Name{Section: "Global", Key: "provider"}
		name, origin = fromFile, fmt.Sprintf("%s: %s", file.At(Schema{}, key), file.Spell(Schema{}, key))
	}
	switch {
	case name == "":
		return "", noProvider(file, known)
	case fromFlag != "" && fromFlag != name:
		return "", fmt.Errorf("%s is %q but --cloud-provider is %q: remove one or make them agree", origin, fromFile, fromFlag)
	case slices.Contains(registered, name):
		return name, nil
	}
	message := fmt.Sprintf("%s: unknown provider %q, known are: %s", origin, name, known)
	if why, ok := unsupportedNames[name]; ok {
		return "", fmt.Errorf("%s (%s: %s)", message, name, why)
	}
	if suggestion := nearest(name, registered); suggestion != "" {
		message += fmt.Sprintf(", did you mean %q?", suggestion)
	}

	return "", errors.New(message)
}

func noProvider(file *File, known string) error {
	key := Name{Section: "Global", Key: "provider"}
	switch {
	case file == nil:
		return fmt.Errorf("no cloud provider chosen: give a --cloud-config with %s, or --cloud-provider; known are: %s", key, known)
	case file.Empty():
		return fmt.Errorf("no cloud provider chosen: %s is empty: set %s in it to one of: %s", file.Path, key, known)
	}
	err := fmt.Errorf("no cloud provider chosen: set %s in %s to one of: %s", file.Spell(Schema{}, key), file.Path, known)
	for _, e := range file.entries {
		if mistake := mistypedProvider(file.Format, e); mistake != "" {
			return fmt.Errorf("%w\n%s: %s", err, e.at, mistake)
		}
	}

	return err
}

// mistypedProvider tells of a section or a key that may be the one for the provider.
func mistypedProvider(format Format, e entry) string {
	section, key := spell(format, Schema{}, Name{Section: "Global"}), "provider"
	inGlobal := strings.EqualFold(e.name.Section, "Global")
	switch {
	case e.name.Key == "" && inGlobal && e.name.Sub != "":
		return fmt.Sprintf("section %s takes no name in quotes: %s is ignored", section, e.written)
	case e.name.Key == "" && inGlobal && e.fault != "":
		return e.written + " " + e.fault
	case e.name.Key == "" && !inGlobal && nearest(e.name.Section, []string{"Global"}) != "":
		return fmt.Sprintf("unknown section %s, did you mean %s?", e.written, section)
	case e.name.Key == "" && strings.EqualFold(e.name.Section, key),
		!inGlobal && strings.EqualFold(e.name.Key, key):
		return fmt.Sprintf("%s is in the wrong section, did you mean %s?", e.written, spell(format, Schema{}, Name{Section: "Global", Key: key}))
	case inGlobal && e.name.Key != "" && (nearest(e.name.Key, []string{key}) != "" || strings.Contains(strings.ToLower(e.name.Key), key)):
		return fmt.Sprintf("unknown key %s, did you mean %s?", e.written, key)
	}

	return ""
}
