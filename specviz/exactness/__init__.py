"""The proof: deliberate mistakes, small worlds that are enumerated whole, one step under every rule, replay."""
