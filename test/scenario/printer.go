package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// stepWidth is the column of durations.
	stepWidth = 72
	// noteWidth is where notes are broken.
	noteWidth = 90
)

// The ANSI codes in use.
const (
	plain = "\x1b[0m"
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
)

// Printer prints progress, line by line, in a terminal and in a log
// alike: nothing that is written is ever taken back. What it writes to may fail
// unnoticed.
type Printer struct {
	w     io.Writer
	color bool
}

// NewPrinter prints to a file, in color if that is a terminal and NO_COLOR is
// not set.
func NewPrinter(file *os.File) *Printer {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0

	return &Printer{w: file, color: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// PlainPrinter prints without color.
func PlainPrinter(w io.Writer) *Printer { return &Printer{w: w} }

// Title announces a part.
func (p *Printer) Title(format string, args ...any) {
	p.write("\n%s\n\n", p.colorize(bold, fmt.Sprintf(format, args...)))
}

// Line prints a line.
func (p *Printer) Line(format string, args ...any) {
	p.write(format+"\n", args...)
}

// Note prints a note on the step before, in as many lines as it takes.
func (p *Printer) Note(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), noteWidth) {
		p.write("  %s\n", p.colorize(dim, line))
	}
}

// wrap breaks a text between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}

	return append(lines, line)
}

// Text prints lines as they are, indented.
func (p *Printer) Text(text string) {
	p.write("\n")
	for line := range strings.Lines(text) {
		p.write("%s\n", strings.TrimRight("    "+line, " \n"))
	}
	p.write("\n")
}

// Step prints what is being done, does it, and prints how long it took.
func (p *Printer) Step(what string, do func() error) error {
	dots := strings.Repeat(".", max(3, stepWidth-utf8.RuneCountInString(what)))
	p.write("%s %s ", what, p.colorize(dim, dots))
	began := time.Now()
	err := do()
	took := fmt.Sprintf("%5.1f s", time.Since(began).Seconds())
	switch {
	case err == nil:
		p.write("%s\n", p.colorize(green, took))
	case errors.Is(err, context.Canceled):
		p.write("%s interrupted\n", took)
	default:
		p.write("%s %s\n", took, p.colorize(red, "failed"))
	}

	return err
}

// Failure prints an error.
func (p *Printer) Failure(err error) {
	p.write("\n%s %v\n", p.colorize(red, "error:"), err)
}

func (p *Printer) colorize(code, text string) string {
	if !p.color {
		return text
	}

	return code + text + plain
}

func (p *Printer) write(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format, args...) // there is no other output
}
