package results

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxBlob bounds one blob, plain: requests and answers are capped far below.
const maxBlob = 256 << 20

// codec packs and unpacks blobs. It is safe for concurrent use.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("start the compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlob))
	if err != nil {
		return nil, fmt.Errorf("start the decompressor: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

func (c *codec) close() { c.dec.Close() }

// packed is a blob ready to be written. Compressing happens before the
// transaction, so that other writes need not wait for it.
type packed struct {
	sum   [sha256.Size]byte
	plain int
	zstd  []byte
}

// pack compresses data; nil gives nil, which is written as NULL.
func (c *codec) pack(data []byte) (*packed, error) {
	if data == nil {
		return nil, nil
	}
	if len(data) > maxBlob {
		return nil, fmt.Errorf("a blob of %d bytes is over the limit of %d", len(data), maxBlob)
	}
	return &packed{sum: sha256.Sum256(data), plain: len(data), zstd: c.enc.EncodeAll(data, nil)}, nil
}

// packWhole compresses data where even nothing is content: it never gives nil.
func (c *codec) packWhole(data []byte) (*packed, error) {
	if data == nil {
		data = []byte{}
	}
	return c.pack(data)
}

func (c *codec) packText(s string) (*packed, error) {
	if s == "" {
		return nil, nil
	}
	return c.pack([]byte(s))
}

// putBlob writes a blob unless its content is there already and returns its id,
// or nil for nil.
func putBlob(ctx context.Context, tx *sql.Tx, p *packed) (*int64, error) {
	if p == nil {
		return nil, nil
	}
	var id int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM blobs WHERE sha256 = ?", p.sum[:]).Scan(&id)
	if err == nil {
		return &id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("look for a blob: %w", err)
	}
	res, err := tx.ExecContext(ctx, "INSERT INTO blobs (sha256, bytes, zstd) VALUES (?, ?, ?)", p.sum[:], p.plain, p.zstd)
	if err != nil {
		return nil, fmt.Errorf("write a blob: %w", err)
	}
	id, err = res.LastInsertId()
	if err != nil {
		return nil, fmt.Errorf("write a blob: %w", err)
	}
	return &id, nil
}

// getBlob reads a blob and checks it against its digest; a nil id gives nil.
func (c *codec) getBlob(ctx context.Context, q querier, id *int64) ([]byte, error) {
	if id == nil {
		return nil, nil
	}
	var sum, comp []byte
	var plain int
	err := q.QueryRowContext(ctx, "SELECT sha256, bytes, zstd FROM blobs WHERE id = ?", *id).Scan(&sum, &plain, &comp)
	if err != nil {
		return nil, fmt.Errorf("read blob %d: %w", *id, err)
	}
	if plain > maxBlob {
		return nil, fmt.Errorf("%w: blob %d says that it has %d bytes", ErrAltered, *id, plain)
	}
	data, err := c.dec.DecodeAll(comp, make([]byte, 0, plain))
	if err != nil {
		return nil, fmt.Errorf("%w: blob %d: %w", ErrAltered, *id, err)
	}
	if got := sha256.Sum256(data); string(got[:]) != string(sum) {
		return nil, fmt.Errorf("%w: blob %d has the digest %x, not %x", ErrAltered, *id, got, sum)
	}
	return data, nil
}
