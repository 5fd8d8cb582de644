"""The only door to C: checks every array, hands raw buffers over, turns status codes into exceptions."""
