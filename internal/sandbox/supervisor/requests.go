package supervisor

import (
	"fmt"

	"assay/internal/sandbox/frame"
)

// request does one request and answers it, or returns why not.
func (sv *server) request(f frame.Frame) error {
	switch f.Type {
	case frame.TypePing:
	case frame.TypeSweep:
		sv.sweep()
	default:
		sv.files.Lock()
		defer sv.files.Unlock()
		return sv.fileRequest(f)
	}
	sv.send(frame.TypeDone, f.ID, nil, nil)
	return nil
}

func (sv *server) fileRequest(f frame.Frame) error {
	switch f.Type {
	case frame.TypePut, frame.TypeReset:
		h, err := frame.Decode[frame.Tree](f)
		if err != nil {
			return err
		}
		if f.Type == frame.TypeReset {
			sv.sweep()
			if err := sv.empty(); err != nil {
				return err
			}
		}
		if err := sv.hand.do(func() error { return sv.work.put(h, f.Payload) }); err != nil {
			return err
		}
		sv.send(frame.TypeDone, f.ID, nil, nil)
	case frame.TypeRead:
		h, err := frame.Decode[frame.Read](f)
		if err != nil {
			return err
		}
		data, err := handed(sv.hand, func() ([]byte, error) { return sv.work.read(string(h.Path), h.Max) })
		if err != nil {
			return err
		}
		sv.send(frame.TypeDone, f.ID, nil, data)
	case frame.TypeWrite:
		h, err := frame.Decode[frame.Write](f)
		if err != nil {
			return err
		}
		if err := sv.hand.do(func() error { return sv.work.write(string(h.Path), h.Kind, h.Mode, f.Payload) }); err != nil {
			return err
		}
		sv.send(frame.TypeDone, f.ID, nil, nil)
	case frame.TypeList:
		h, err := frame.Decode[frame.List](f)
		if err != nil {
			return err
		}
		entries, err := handed(sv.hand, func() (frame.Entries, error) { return sv.work.list(string(h.Dir), h.Max) })
		if err != nil {
			return err
		}
		sv.send(frame.TypeEntries, f.ID, entries, nil)
	case frame.TypeExport:
		h, err := frame.Decode[frame.Export](f)
		if err != nil {
			return err
		}
		sv.sweep()
		var head frame.Exported
		var data []byte
		err = sv.hand.do(func() (err error) {
			head, data, err = sv.work.export(h)
			return err
		})
		if err != nil {
			return err
		}
		sv.send(frame.TypeExported, f.ID, head, data)
	default:
		return fmt.Errorf("%w: %s is not a request", frame.ErrProtocol, f.Type)
	}
	return nil
}
