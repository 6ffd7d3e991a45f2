// Package loadbalancers has the load balancers of Services in NSX-T.
//
//	EnsureLoadBalancer, UpdateLoadBalancer
//	  request.New         what the Service requests
//	  observe             the objects of the Service in the shared result of a search
//	  build               what is wanted, and the names of what it needs (pure)
//	  diff                the steps of one plan, and what has to be read before (pure)
//	  read                by path, then build and diff again
//	  apply               the steps, each one call
//	  afterRefusal        read what was refused, or wait, then build and diff again
//	  waitRealized        before an address is published
//
// What it promises:
//
//   - An unchanged Service costs no call: one search is shared by all Services. Before an
//     object that exists is written or deleted, it is read by its path.
//   - "Not there" is believed of a single read alone. IDs of new objects are derived from the
//     UID of the Service, so creating one that exists shows that it does.
//   - An operation can end at any call; the next one, of any process, goes on.
//   - An object belongs to a Service by its tags and its place, see [observed]. What others
//     changed in it stays, but for the fields that follow the Service.
//   - An address is released when no virtual server has it, and published once it is realized.
package loadbalancers
