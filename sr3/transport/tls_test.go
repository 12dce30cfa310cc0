package transport

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"
)

// certificates makes a configuration for both sides of a mutual TLS.
func certificates(tb testing.TB) *tls.Config {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      roots, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
}

func TestTLS(t *testing.T) {
	cfg := quick()
	cfg.TLS = certificates(t)
	exchange(t, cfg, 40)
	e := listen(t, cfg, &world{call: echo, stream: func(ctx context.Context, s *Stream, _ byte, _ []byte) error {
		_, err := s.Recv(ctx)
		return err
	}})
	c := client(t, cfg)
	request := noise(mib, 4)
	reply, err := c.Call(short(t), e.Addr(), 0, request)
	if err != nil || !bytes.Equal(reply, request) {
		t.Fatalf("%d bytes, %v", len(reply), err)
	}
	s := open(t, c, e.Addr(), 0, "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for err = nil; err == nil; { // until the window is full
		err = s.Send(ctx, request[:256*kib])
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrEnded) {
		t.Fatalf("got %v", err)
	}
	if _, err := client(t, Config{}).Call(short(t), e.Addr(), 0, nil); err == nil {
		t.Fatal("plain TCP got in")
	}
	stranger := Config{TLS: &tls.Config{RootCAs: cfg.TLS.RootCAs, MinVersion: tls.VersionTLS13}}
	if _, err := client(t, stranger).Call(short(t), e.Addr(), 0, nil); err == nil {
		t.Fatal("somebody without certificate got in")
	}
}
