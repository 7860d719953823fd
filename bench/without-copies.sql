-- What only the service itself reads and keeps: read rows, search rows and live counts.
drop table customer_bodies, product_bodies, searchable_customers, searchable_products, live_counts;
