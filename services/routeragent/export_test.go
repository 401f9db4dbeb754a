package routeragent

// InjectFault makes changes of the kernel fail where f says so; nil ends it.
func (a *Agent) InjectFault(f func(step string) error) { a.kernel.Fault = f }
