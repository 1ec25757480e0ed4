// Decodes data points of OpenTelemetry, which stand in hexadecimal on the lines of standard input, with protobufjs and the
// code that OpenTelemetry generates from its published .proto; prints scale, zeros, offset and counts of each.
// SPDX-License-Identifier: MIT
const { opentelemetry } = require("@opentelemetry/otlp-transformer/build/src/generated/root");
const Point = opentelemetry.proto.metrics.v1.ExponentialHistogramDataPoint;

for (const line of require("fs").readFileSync(0, "latin1").trim().split("\n")) {
  const point = Point.decode(Buffer.from(line, "hex"));
  console.log([point.scale, point.zeroCount, point.positive.offset, ...point.positive.bucketCounts].join(" "));
}
