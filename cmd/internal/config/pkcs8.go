package config

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"hash"
)

// The ASN.1 of an encrypted private key: RFC 5958 with PBES2 of RFC 8018, which is what
// OpenSSL and keytool write.
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2Params struct {
		KeyDerivation pkix.AlgorithmIdentifier
		Encryption    pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}

	hashes = map[string]func() hash.Hash{
		"1.2.840.113549.2.7":  sha1.New,
		"1.2.840.113549.2.9":  sha256.New,
		"1.2.840.113549.2.10": sha512.New384,
		"1.2.840.113549.2.11": sha512.New,
	}
	ciphers = map[string]struct {
		keyLength int
		block     func([]byte) (cipher.Block, error)
	}{
		"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
		"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
		"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
		"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
	}
)

// maxIterations bounds what a file can make us compute: OpenSSL writes 2048, keytool 10,000.
const maxIterations = 1_000_000

// decryptPKCS8 decrypts a private key. A wrong password shows as wrong padding, or as bytes
// that are no key.
func decryptPKCS8(der []byte, password string) ([]byte, error) {
	var enc encryptedKey
	var scheme pbes2Params
	var kdf pbkdf2Params
	var iv []byte
	if _, err := asn1.Unmarshal(der, &enc); err != nil {
		return nil, fmt.Errorf("its encrypted key cannot be read: %w", err)
	}
	if !enc.Algorithm.Algorithm.Equal(oidPBES2) {
		return nil, fmt.Errorf("its key is encrypted with algorithm %v: only PBES2 is known", enc.Algorithm.Algorithm)
	}
	if _, err := asn1.Unmarshal(enc.Algorithm.Parameters.FullBytes, &scheme); err != nil {
		return nil, fmt.Errorf("its encrypted key cannot be read: %w", err)
	}
	if !scheme.KeyDerivation.Algorithm.Equal(oidPBKDF2) {
		return nil, fmt.Errorf("the password of its key is hashed with %v: only PBKDF2 is known", scheme.KeyDerivation.Algorithm)
	}
	if _, err := asn1.Unmarshal(scheme.KeyDerivation.Parameters.FullBytes, &kdf); err != nil {
		return nil, fmt.Errorf("its encrypted key cannot be read: %w", err)
	}
	if _, err := asn1.Unmarshal(scheme.Encryption.Parameters.FullBytes, &iv); err != nil {
		return nil, fmt.Errorf("its encrypted key cannot be read: %w", err)
	}
	prf := kdf.PRF.Algorithm.String()
	if prf == "" {
		prf = "1.2.840.113549.2.7"
	}
	newHash, enciphered := hashes[prf], ciphers[scheme.Encryption.Algorithm.String()]
	if newHash == nil || enciphered.block == nil || kdf.Iterations < 1 || kdf.Iterations > maxIterations {
		return nil, fmt.Errorf("its key is encrypted with %v over %s: not known", scheme.Encryption.Algorithm, prf)
	}
	key, err := pbkdf2.Key(newHash, password, kdf.Salt, kdf.Iterations, enciphered.keyLength)
	if err != nil {
		return nil, fmt.Errorf("derive the key's key: %w", err)
	}
	block, err := enciphered.block(key)
	if err != nil {
		return nil, fmt.Errorf("its encrypted key cannot be read: %w", err)
	}
	return decryptCBC(block, iv, enc.Data)
}

func decryptCBC(block cipher.Block, iv, data []byte) ([]byte, error) {
	size := block.BlockSize()
	if len(iv) != size || len(data) == 0 || len(data)%size != 0 {
		return nil, errKeyPassword
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, errKeyPassword
	}
	return plain[:len(plain)-pad], nil
}
