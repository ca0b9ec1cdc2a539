"""Pure: what is true about a set of documents. Facts in, findings and answers out."""
