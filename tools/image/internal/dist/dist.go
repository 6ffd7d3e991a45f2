// Package dist writes the files of a release: each is in place only when it is whole, and
// bears the time of the sources instead of that of the build.
package dist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// SourceDate returns the time of the sources, in seconds since 1970 as SOURCE_DATE_EPOCH has
// it (https://reproducible-builds.org/specs/source-date-epoch/), or the beginning of 1970 if
// it is empty.
func SourceDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}

	return time.Unix(seconds, 0).UTC(), nil
}

// Write writes a file of a folder that exists. The file is readable for all, whatever the
// umask is. On an error nothing is left of it, and a former file stays.
func Write(folder, name string, content func(io.Writer) error) error {
	partial, err := os.CreateTemp(folder, name+".partial.*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	err = errors.Join(content(partial), partial.Chmod(0o644), partial.Close())
	if err == nil {
		err = os.Rename(partial.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, os.Remove(partial.Name())))
	}

	return nil
}

// Bytes is the content of a file for [Write].
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)

		return err
	}
}
