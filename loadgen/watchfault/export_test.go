package watchfault

// EventType reads the type of a frame.
var EventType = eventType
