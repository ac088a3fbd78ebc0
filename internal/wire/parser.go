package wire

import (
	"bytes"
	"time"

	"assay/internal/bench"
)

// Limits bound what a Parser keeps. A zero field means its default.
type Limits struct {
	EventBytes    int // one event of a stream, its lines together; default 8 MiB
	DocumentBytes int // an answer that is not streamed; default 32 MiB
	ToolCalls     int // calls of one answer; default 256
}

func (l Limits) withDefaults() Limits {
	if l.EventBytes <= 0 {
		l.EventBytes = 8 << 20
	}
	if l.DocumentBytes <= 0 {
		l.DocumentBytes = 32 << 20
	}
	if l.ToolCalls <= 0 {
		l.ToolCalls = 256
	}
	return l
}

// Parser reads one answer with HTTP status 200. Feed it the body as it arrives,
// then call End once. It finds out by the first byte whether the answer is a
// stream or a document. Its errors are *bench.EngineError without a URL; after
// the first one further bytes are ignored.
//
// How the bytes are cut into reads changes the marks and nothing else.
type Parser struct {
	limits Limits
	shape  shape
	head   []byte // bytes before the shape is known: at most a part of a BOM
	begun  bool   // the BOM question is settled
	doc    []byte
	events events
	chat   assembly
	err    *bench.EngineError
	marks  bench.Marks
}

type shape int

const (
	shapeUnknown shape = iota
	shapeStream
	shapeDocument
)

// NewParser returns a parser for one answer.
func NewParser(l Limits) *Parser {
	l = l.withDefaults()
	p := &Parser{limits: l}
	p.events.limit = l.EventBytes
	p.chat.maxCalls = l.ToolCalls
	return p
}

// Feed takes the bytes of one read that returned at the given time since the
// request's start. It keeps no reference to b.
func (p *Parser) Feed(b []byte, at time.Duration) error {
	if len(b) > 0 && p.marks.FirstByte == nil {
		p.marks.FirstByte = &at
	}
	if p.err == nil && p.shape == shapeUnknown {
		b = p.sniff(b)
	}
	if p.err == nil && len(b) > 0 {
		switch p.shape {
		case shapeStream:
			p.err = p.events.feed(b, at, p.chat.event)
		case shapeDocument:
			p.document(b)
		}
	}
	return p.fault()
}

// Complete reports whether the end mark of a stream was read. A document is
// judged at its End.
func (p *Parser) Complete() bool { return p.err == nil && p.chat.done }

// End closes the answer: the body ended, or nothing more will be read of it. The
// response holds what was understood, also beside an error. An answer without
// its end mark is an error with bench.FaultCut.
func (p *Parser) End(at time.Duration) (bench.Response, error) {
	if p.err == nil {
		p.err = p.close()
	}
	r := p.chat.response()
	r.Streamed = p.shape == shapeStream
	r.Complete = p.err == nil
	p.marks.End = &at
	p.marks.FirstToken, p.marks.FirstAnswer, p.marks.LastToken = r.Marks.FirstToken, r.Marks.FirstAnswer, r.Marks.LastToken
	r.Marks = p.marks
	return r, p.fault()
}

// fault keeps a nil *bench.EngineError from becoming an error that is not nil.
func (p *Parser) fault() error {
	if p.err == nil {
		return nil
	}
	return p.err
}

var bom = []byte("\xef\xbb\xbf")

// sniff decides the shape by the first byte that is neither BOM nor blank, and
// returns what belongs to the answer.
func (p *Parser) sniff(b []byte) []byte {
	if !p.begun {
		p.head = append(p.head, b...)
		b = p.head
		if len(b) < len(bom) && bytes.HasPrefix(bom, b) {
			return nil
		}
		p.begun, p.head = true, nil
		b = bytes.TrimPrefix(b, bom)
	}
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 {
		return nil
	}
	p.shape = shapeStream
	if b[0] == '{' || b[0] == '[' {
		p.shape = shapeDocument
	}
	return b
}

func (p *Parser) document(b []byte) {
	if len(p.doc)+len(b) > p.limits.DocumentBytes {
		p.err = tooLarge("an answer that is not streamed", p.limits.DocumentBytes)
		return
	}
	p.doc = append(p.doc, b...)
}

// close judges an answer of which no more will come.
func (p *Parser) close() *bench.EngineError {
	switch p.shape {
	case shapeDocument:
		return p.chat.document(p.doc)
	case shapeStream:
		if err := p.events.close(p.chat.event); err != nil {
			return err
		}
		if p.chat.done {
			return nil
		}
		if !p.events.spoke {
			return protocol("the answer is neither an event stream nor JSON: it begins with %q", excerpt(p.events.first, 60))
		}
		return cut("the stream ended without its end mark `data: [DONE]`")
	}
	return cut("the answer is empty")
}
